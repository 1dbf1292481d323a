"""RoboClaw motor controllers, packet serial. This file imports nothing: who needs a part of it imports that part."""
