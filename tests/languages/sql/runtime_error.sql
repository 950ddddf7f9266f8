select missing;
