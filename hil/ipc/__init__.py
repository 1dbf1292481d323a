"""Memory shared by the loop process and its workers, and the loop's views on it: no call here blocks."""
