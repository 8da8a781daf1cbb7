package deploy

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	chartDir = root + "/node-agent/deploy/helm/warpwatch-agent"
)

// values are what somebody sets, as text.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	set := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// template is what `helm template` does.
func template(t *testing.T, set string) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "warpwatch-agent", Namespace: "warpwatch", IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values(t, set), options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(c, all)
}

// object is a manifest, with what is common to all.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	text []byte
}

// objects are the manifests of a text, by kind. There is one of each.
func objects(t *testing.T, texts ...string) map[string]object {
	t.Helper()
	found := map[string]object{}
	for _, text := range texts {
		for _, one := range strings.Split(text, "\n---\n") {
			if strings.TrimSpace(one) == "" {
				continue
			}
			o := object{text: []byte(one)}
			if err := yaml.Unmarshal(o.text, &o); err != nil {
				t.Fatalf("%v\n%s", err, one)
			}
			if o.Kind == "" || found[o.Kind].Kind != "" {
				t.Fatalf("a second %q, or no manifest:\n%s", o.Kind, one)
			}
			found[o.Kind] = o
		}
	}
	return found
}

// chart are the manifests that the chart makes of values.
func chart(t *testing.T, set string) map[string]object {
	t.Helper()
	files, err := template(t, set)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) == ".yaml" {
			texts = append(texts, files[name])
		}
	}
	return objects(t, texts...)
}

// kustomization are the manifests of node-agent/deploy/kubernetes.
func kustomization(t *testing.T) map[string]object {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root+"/node-agent/deploy/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(text))
}

// decode reads a manifest as Kubernetes does when it is told to be strict: a key that it does not know, or has twice, is an error.
func decode[T any](t *testing.T, o object) T {
	t.Helper()
	var into T
	if err := yaml.UnmarshalStrict(o.text, &into); err != nil {
		t.Errorf("%s: %v\n%s", o.Kind, err, o.text)
	}
	return into
}

// check decodes each manifest as what it says it is.
func check(t *testing.T, all map[string]object) {
	t.Helper()
	for kind, o := range all {
		switch kind {
		case "DaemonSet":
			decode[appsv1.DaemonSet](t, o)
		case "ConfigMap":
			decode[corev1.ConfigMap](t, o)
		case "Secret":
			decode[corev1.Secret](t, o)
		case "Service":
			decode[corev1.Service](t, o)
		case "ServiceAccount":
			decode[corev1.ServiceAccount](t, o)
		case "NetworkPolicy":
			decode[networkingv1.NetworkPolicy](t, o)
		case "PodMonitor":
			decode[podMonitor](t, o)
		case "ServiceMonitor":
			decode[serviceMonitor](t, o)
		default:
			t.Errorf("a %s is not known here", kind)
		}
		if o.Metadata.Namespace != "warpwatch" {
			t.Errorf("%s is in the namespace %q", kind, o.Metadata.Namespace)
		}
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}

// differ says where two texts part.
func differ(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(left), len(right)) {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		if l != r {
			return fmt.Sprintf("line %d: %q and %q\n%s\n\n%s", i+1, l, r, a, b)
		}
	}
	return ""
}
