"""RoboClaw motor controllers, packet serial. This file imports nothing; import the submodule that you need."""
