"""`kl arch show` and `kl arch explain`: the layers as a picture, and why a file, module or layer is judged as it is."""
