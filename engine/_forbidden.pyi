"""The compiled module has nothing for Python; see `_forbidden.pxd`."""
