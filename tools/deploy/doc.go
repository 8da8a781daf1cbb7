// Package deploy tests what is installed with the agent, and Alertmanager's sample, with the code of the tools that read them: Helm,
// kustomize, the types of Kubernetes, Alertmanager, a parser of shells and systemd.
package deploy
