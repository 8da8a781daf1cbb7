package settings

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The page for users names every key.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/user/data-source-settings.md")
	if err != nil {
		t.Fatal(err)
	}
	var check func(prefix string, typ reflect.Type)
	check = func(prefix string, typ reflect.Type) {
		for name, field := range fieldsOf(typ) {
			for field.Kind() == reflect.Pointer {
				field = field.Elem()
			}
			path := prefix + name
			switch {
			case field.Kind() == reflect.Struct:
				check(path+".", field)
			case field.Kind() == reflect.Slice && field.Elem().Kind() == reflect.Struct:
				if prefix+name == "clusters" {
					check("", field.Elem())
				}
				fallthrough
			default:
				if path == "endpoints" {
					check("", field.Elem())
				}
				if !strings.Contains(string(page), "`"+path+"`") {
					t.Errorf("docs/user/data-source-settings.md does not name `%s`", path)
				}
			}
		}
	}
	check("", reflect.TypeFor[stored]())
	for _, secret := range []string{"password", "token", "header_<name>", "caCert", "tlsClientCert", "tlsClientKey", "cache_password", "agents_tlsClientKey"} {
		if !strings.Contains(string(page), "`"+secret+"`") {
			t.Errorf("the secret `%s` is not named", secret)
		}
	}
}
