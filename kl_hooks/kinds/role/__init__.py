"""Roles: what somebody with a role must do, must not do, and asks about first."""
