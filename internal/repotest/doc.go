// Package repotest holds the conventions of the repository as tests: which package may import which, what a dashboard
// must look like, how the plugin's descriptions agree with each other. It has no code of its own.
package repotest
