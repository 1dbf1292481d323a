"""How kernels are compiled and cached, and arguments bound to them once."""
