"""From a fully specified instruction to a verified sharded one."""
