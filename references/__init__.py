"""Independent calculations to compare the product with, set-ups with closed forms; for tests and scripts of docs."""
