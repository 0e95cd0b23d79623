"""Operations: the questions and actions of kl, each stated once for every interface: commands,
tools, routes, programs.
"""
