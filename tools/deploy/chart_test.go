package deploy

import (
	"os"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// everything switches on what can be.
const everything = `
image: {digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
fullnameOverride: gpu-agent
token: {value: secret}
tls: {secretName: agent-tls, clientCertificates: true}
extraArgs: [--log.level=debug]
extraEnv: [{name: A, value: b}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
podAnnotations: {a: b}
podLabels: {team: gpu}
podLogs: true
kernelLog: /var/log/kern.log
service: {annotations: {a: b}}
serviceMonitor: {enabled: true, labels: {release: prometheus}, relabelings: [{targetLabel: region, replacement: eu}]}
`

func TestHelmLintsTheChart(t *testing.T) {
	for _, set := range []string{"{}", everything, "podMonitor: {enabled: true}"} {
		result := lint.RunAll(chartDir, values(t, set), "warpwatch")
		for _, m := range result.Messages {
			if m.Severity >= support.InfoSev {
				t.Error(m)
			}
		}
	}
}

func TestKubernetesTakesTheManifests(t *testing.T) {
	check(t, kustomization(t))
	for name, tc := range map[string]struct {
		set   string
		kinds []string
	}{
		"defaults":   {"{}", []string{"ConfigMap", "DaemonSet", "NetworkPolicy", "Service", "ServiceAccount"}},
		"everything": {everything, []string{"ConfigMap", "DaemonSet", "NetworkPolicy", "Secret", "Service", "ServiceAccount", "ServiceMonitor"}},
		"least": {"{token: {enabled: false}, service: {enabled: false}, networkPolicy: {enabled: false}, serviceAccount: {create: false}, runtimeClassName: '', priorityClassName: '', tolerations: [], podMonitor: {enabled: true}}",
			[]string{"ConfigMap", "DaemonSet", "PodMonitor"}},
	} {
		all := chart(t, tc.set)
		check(t, all)
		for _, kind := range tc.kinds {
			if _, ok := all[kind]; !ok {
				t.Errorf("%s: there is no %s", name, kind)
			}
		}
		if len(all) != len(tc.kinds) {
			t.Errorf("%s: %d manifests, want %v", name, len(all), tc.kinds)
		}
	}
	text, err := os.ReadFile(root + "/node-agent/deploy/kubernetes/pod-monitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fromFile := decode[podMonitor](t, objects(t, string(text))["PodMonitor"])
	fromChart := decode[podMonitor](t, chart(t, "podMonitor: {enabled: true}")["PodMonitor"])
	if d := differ(asText(t, fromFile.Spec.PodMetricsEndpoints), asText(t, fromChart.Spec.PodMetricsEndpoints)); d != "" {
		t.Error("the monitors differ: ", d)
	}
}

// The chart without any values and the kustomization are two ways to the same pods.
func TestTheChartAndTheKustomizationAgree(t *testing.T) {
	helm, kustomize := chart(t, "{}"), kustomization(t)
	ours, theirs := decode[appsv1.DaemonSet](t, helm["DaemonSet"]), decode[appsv1.DaemonSet](t, kustomize["DaemonSet"])
	for _, d := range []*appsv1.DaemonSet{&ours, &theirs} {
		pod := &d.Spec.Template.Spec
		name, _, _ := strings.Cut(pod.Containers[0].Image, ":")
		pod.Containers[0].Image = name
		for i := range pod.Volumes {
			if pod.Volumes[i].ConfigMap != nil {
				pod.Volumes[i].ConfigMap.Name = "" // kustomize adds a hash
			}
		}
	}
	if d := differ(asText(t, ours.Spec.Template.Spec), asText(t, theirs.Spec.Template.Spec)); d != "" {
		t.Error("pods differ: ", d)
	}
	if d := differ(asText(t, ours.Spec.UpdateStrategy), asText(t, theirs.Spec.UpdateStrategy)); d != "" {
		t.Error("updates differ: ", d)
	}
	policies := func(o object) string { return asText(t, decode[networkingv1.NetworkPolicy](t, o).Spec.Ingress) }
	if d := differ(policies(helm["NetworkPolicy"]), policies(kustomize["NetworkPolicy"])); d != "" {
		t.Error("network policies differ: ", d)
	}
	config := func(o object) string {
		var parsed any = values(t, decode[corev1.ConfigMap](t, o).Data["agent.yaml"])
		return asText(t, parsed)
	}
	if d := differ(config(helm["ConfigMap"]), config(kustomize["ConfigMap"])); d != "" {
		t.Error("configurations differ: ", d)
	}
}

func TestPodsHaveTheLeastPrivileges(t *testing.T) {
	for name, all := range map[string]map[string]object{"chart": chart(t, "{}"), "everything": chart(t, everything), "kustomization": kustomization(t)} {
		pod := decode[appsv1.DaemonSet](t, all["DaemonSet"]).Spec.Template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostIPC {
			t.Errorf("%s: it has a token of Kubernetes, or the host's network", name)
		}
		c := pod.Containers[0].SecurityContext
		switch {
		case c.Privileged != nil && *c.Privileged, c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation,
			c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem, len(c.Capabilities.Add) > 0,
			len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL", c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s: it may more than it needs: %s", name, asText(t, c))
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if !m.ReadOnly {
				t.Errorf("%s: %s may be written to", name, m.MountPath)
			}
		}
		if pod.Containers[0].Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: memory has no limit", name)
		}
	}
}

func TestTLSIsServedWhereItIsAskedFor(t *testing.T) {
	all := chart(t, everything)
	daemons := decode[appsv1.DaemonSet](t, all["DaemonSet"])
	agent := daemons.Spec.Template.Spec.Containers[0]
	if args := strings.Join(agent.Args, " "); !strings.Contains(args, "--web.config.file=/etc/warpwatch/web.yaml") || !strings.Contains(args, "--log.level=debug") {
		t.Errorf("arguments %s", args)
	}
	if agent.LivenessProbe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
		t.Error("the kubelet asks without TLS")
	}
	if web := decode[corev1.ConfigMap](t, all["ConfigMap"]).Data["web.yaml"]; !strings.Contains(web, "RequireAndVerifyClientCert") {
		t.Errorf("no certificate is asked for: %s", web)
	}
	endpoint := decode[serviceMonitor](t, all["ServiceMonitor"]).Spec.Endpoints[0]
	if endpoint.Scheme != "https" || endpoint.TLSConfig.KeySecret.Name != "agent-tls" || endpoint.Authorization.Credentials.Name != "gpu-agent" {
		t.Errorf("Prometheus scrapes with %s", asText(t, endpoint))
	}
	if secret := decode[corev1.Secret](t, all["Secret"]); secret.Name != "gpu-agent" || secret.StringData["token"] != "secret" {
		t.Errorf("the Secret is %s", secret.Name)
	}
}

// Pods read their configuration once, so they must be replaced when it changes.
func TestAChangedConfigurationReplacesPods(t *testing.T) {
	sum := func(set string) string {
		return decode[appsv1.DaemonSet](t, chart(t, set)["DaemonSet"]).Spec.Template.Annotations["checksum/config"]
	}
	if sum("{}") == sum("config: {profile: lean}") || sum("{}") != sum("podLogs: true") {
		t.Error("the annotation does not follow the configuration")
	}
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for set, says := range map[string]string{
		"port: '9847'":            "port",
		"image: {repository: ''}": "repository",
		"tolerence: []":           "tolerence",
		"tls: {clientCertificates: true, secretName: ''}":              "secretName",
		"podMonitor: {enabled: true}\nserviceMonitor: {enabled: true}": "not",
		"networkPolicy: {from: []}":                                    "from",
		"podResourcesPath: pod-resources":                              "podResourcesPath",
	} {
		if _, err := template(t, set); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want something about %s", set, err, says)
		}
	}
}
