"""`python -m simulator` is `shardtalk`."""

from simulator.cli import main

main()
