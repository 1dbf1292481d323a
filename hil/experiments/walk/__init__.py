"""Walking: motions and gaits one after the other, by drives and driven joints (MacMahon 2016, 2.1; Xu 2021, 4)."""
