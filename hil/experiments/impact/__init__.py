"""One impact trial: drive into the obstacle at constant speed, cut at the impact, settle (MacMahon 2016, 6.2.4)."""
