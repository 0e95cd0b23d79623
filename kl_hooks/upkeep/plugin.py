"""Hooks of `upkeep`: the policies that look at more than one package, and removal of what packages
without hooks wrote.
"""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, Uninstaller, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    # here: plugins are imported by every command that makes the manager, policies by few
    from kl_hooks.upkeep.policies import POLICIES

    return list(POLICIES)


# last: it ends with the state directory, which the uninstallers of other packages still read
@hookimpl(trylast=True)
def kl_uninstallers() -> list[Uninstaller]:
    from kl_hooks.agents.removal import remove_entries
    from kl_hooks.arch.set_up_removal import remove_pre_commit_entry
    from kl_hooks.git.removal import UNINSTALLERS as OF_GIT
    from kl_hooks.store.removal import UNINSTALLERS as OF_STORE

    return [
        *OF_GIT,
        Uninstaller("agents", remove_entries),
        Uninstaller("pre-commit", remove_pre_commit_entry),
        *OF_STORE,
    ]
