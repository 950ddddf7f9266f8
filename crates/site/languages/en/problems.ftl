# Problems and packages.
package-file = Package (zip archive, ICPC or Sim format)
