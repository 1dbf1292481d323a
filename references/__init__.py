"""Independent calculations to compare the product with, for tests and the scripts of docs; nobody else imports them."""
