package config

import (
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/warpwatch/warpwatch/dashboards/rules"
)

// Rules prints rules for Prometheus or Grafana.
type Rules struct {
	Exporter string
	Kind     rules.Kind
	Format   rules.Format
	Shadow   bool
}

func (r *Rules) flags(cmd *kingpin.CmdClause) {
	cmd.Flag("exporter", "What reports the GPUs: the rules then read only what it writes. "+list(rules.Exporters())+".").
		Default(rules.Any).EnumVar(&r.Exporter, rules.Exporters()...)
	cmd.Flag("kind", "Which rules. "+list(rules.Kinds())+".").Default(string(rules.All)).EnumVar((*string)(&r.Kind), texts(rules.Kinds())...)
	cmd.Flag("format", "For whom they are written. "+list(rules.Formats())+".").
		Default(string(rules.Prometheus)).EnumVar((*string)(&r.Format), texts(rules.Formats())...)
	cmd.Flag("shadow", "Mark every alert with mode=\"shadow\", which the sample of Alertmanager sends to nobody.").BoolVar(&r.Shadow)
}

func texts[T ~string](of []T) []string {
	all := make([]string, len(of))
	for i, one := range of {
		all[i] = string(one)
	}
	return all
}

// list is all but the last with commas between.
func list[T ~string](of []T) string {
	all := texts(of)
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
