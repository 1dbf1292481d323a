"""Soil identification: the parameters of a soil from steady drives, wheel tests and sinkage tests (Petersen 2012, 6.2).

`recorded` and `table` read windows, `fit` fits a soil to them, `directions` says what they cannot tell.
"""
