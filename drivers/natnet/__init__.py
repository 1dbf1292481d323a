"""Motion capture by OptiTrack's Motive, over NatNet. This file imports nothing; import the submodule that you need."""
