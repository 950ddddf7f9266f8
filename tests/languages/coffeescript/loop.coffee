loop
  continue
