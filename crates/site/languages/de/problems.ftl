# Problems and packages.
package-file = Aufgabenpaket (ZIP-Archiv im ICPC- oder Sim-Format)
