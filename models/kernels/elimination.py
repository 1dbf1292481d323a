"""Small linear systems in kernels, which allocate no memory."""

from __future__ import annotations

from models.kernels.compiled import FloatArray, kernel


@kernel
def solve_in_place(A: FloatArray, x: FloatArray) -> None:
    """Replace the right-hand sides x (n, m) by the solution of A y = x; A (n, n) is overwritten.

    Gaussian elimination with the largest element of a column as pivot. A singular A gives values that are not finite.
    """
    n, m = x.shape
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        for j in range(k, n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        for c in range(m):
            x[k, c], x[pivot, c] = x[pivot, c], x[k, c]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            share = A[i, k] * inverse
            for j in range(k + 1, n):
                A[i, j] -= share * A[k, j]
            for c in range(m):
                x[i, c] -= share * x[k, c]
    for k in range(n - 1, -1, -1):
        for c in range(m):
            for j in range(k + 1, n):
                x[k, c] -= A[k, j] * x[j, c]
            x[k, c] /= A[k, k]
