"""Facts: what a person said about the project; and the questions that ask for what nobody has said yet."""
