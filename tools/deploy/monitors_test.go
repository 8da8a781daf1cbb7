package deploy

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// What is used of the Prometheus operator's resources; its own module brings a client for all of them.
type secretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type secretOrConfigMap struct {
	Secret *secretKey `json:"secret,omitempty"`
}

type monitorEndpoint struct {
	Port          string `json:"port"`
	Interval      string `json:"interval"`
	Scheme        string `json:"scheme,omitempty"`
	HonorLabels   bool   `json:"honorLabels"`
	Authorization *struct {
		Credentials *secretKey `json:"credentials,omitempty"`
	} `json:"authorization,omitempty"`
	TLSConfig *struct {
		CA         secretOrConfigMap `json:"ca"`
		Cert       secretOrConfigMap `json:"cert,omitempty"`
		KeySecret  *secretKey        `json:"keySecret,omitempty"`
		ServerName string            `json:"serverName"`
	} `json:"tlsConfig,omitempty"`
	Relabelings []struct {
		SourceLabels []string `json:"sourceLabels,omitempty"`
		TargetLabel  string   `json:"targetLabel,omitempty"`
		Regex        string   `json:"regex,omitempty"`
		Replacement  string   `json:"replacement,omitempty"`
		Action       string   `json:"action,omitempty"`
	} `json:"relabelings,omitempty"`
}

type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []monitorEndpoint    `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []monitorEndpoint    `json:"endpoints"`
	} `json:"spec"`
}
