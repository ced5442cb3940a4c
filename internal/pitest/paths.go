package pitest

import "path/filepath"

// Node is the path of the node program that pi runs with.
func (p *Pi) Node() string { return filepath.Join(p.nodeDir, "node") }

// Package is the folder of pi's package, for programs that import what it exports.
func (p *Pi) Package() string {
	// program is node_modules/.bin/pi
	return filepath.Join(filepath.Dir(filepath.Dir(p.program)), filepath.FromSlash(piPackage))
}

// Program is the path of pi's own program, to be run with Node.
func (p *Pi) Program() string { return p.program }
