"""What a record proves: is it whole and true to itself, and would today's program have done the same?"""
