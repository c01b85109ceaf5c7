// The arm of each unit on stdin, by a template with the functions of Sprig.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	arms := template.Must(template.New("arm").Funcs(sprig.TxtFuncMap()).Parse(string(text)))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var arm strings.Builder
		if err := arms.Execute(&arm, map[string]string{"unit": lines.Text()}); err != nil {
			panic(err)
		}
		fmt.Printf("%s\t%s\n", lines.Text(), strings.TrimSpace(arm.String()))
	}
}
