"""What the loop process and its workers share, and the loop's views on it: no call here waits for anybody."""
