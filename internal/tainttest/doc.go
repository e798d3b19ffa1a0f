// Package tainttest tries to carry data out of tainted runs: every source of taint, every store that carries it, and every way
// out that an agent has, against rules that stop it.
package tainttest
