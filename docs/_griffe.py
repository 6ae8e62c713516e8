"""How the API reference finds a name that is both a function and a module, such as `foregone.rules.lead`.

Python finds the function, because the package imports it over the module. Griffe, which reads the code for
the reference, finds the module; this puts the function back.
"""

from __future__ import annotations

from typing import Any

import griffe


class FunctionsBeforeModules(griffe.Extension):
    """Let a function that a package defines or imports hide the module of the same name."""

    def __init__(self) -> None:
        self.own: dict[str, list[griffe.Object | griffe.Alias]] = {}

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Remember what a file says, before the modules beside it are added."""
        self.own[mod.path] = [
            member for member in mod.members.values() if member.is_alias or member.is_function
        ]

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Put back what modules have taken the place of."""
        found = {
            (path, member.name): pkg.modules_collection[member.target_path] if member.is_alias else member
            for path, members in self.own.items()
            for member in members
            if self._is_hidden(pkg, path, member.name)
        }
        for (path, name), function in found.items():
            home = pkg.modules_collection[path]
            home.members[name] = griffe.Alias(name, function, parent=home)
        for name, member in pkg.members.items():  # and what the package itself imports of them
            if member.is_alias and (key := tuple(member.target_path.rsplit(".", 1))) in found:
                pkg.members[name] = griffe.Alias(name, found[key], parent=pkg)

    @staticmethod
    def _is_hidden(pkg: griffe.Module, path: str, name: str) -> bool:
        member = pkg.modules_collection[path].members.get(name)
        return member is not None and not member.is_alias and member.is_module
