"""What is to be run, and running it: launchers, schedulers, sites, the probe, watchdogs."""
