"""One narrow interface per device kind: no control logic and no physics."""

import os

# gRPC reads it once, when it is first used: what it would print of a server that is gone, our own messages say better.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
