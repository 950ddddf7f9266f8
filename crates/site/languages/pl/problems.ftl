# Problems and packages.
package-file = Paczka (archiwum ZIP w formacie ICPC lub Sim)
