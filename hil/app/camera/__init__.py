"""The camera that films a run (section `camera`): no tick waits for it, and its failure ends no run."""
