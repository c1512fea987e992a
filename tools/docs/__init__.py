"""Builds the documentation: runs the examples, updates their output, generates the pages of measures and of the API.

Pages are plain Markdown, README.md and CONTRIBUTING.md included. Each page is one session; the whole tutorial is one session.
What is run:

- a `python` fence; the `output` fence after it shows what it printed, or the value of its last line
- a `console` fence: each line that starts with `$ ` is a command, its output follows; `$ echo $?` must follow a command that
  fails
- `console first=20`: the first 20 lines of each command's output are shown
- a fence with `title="NAME"` is first written to the file NAME
- `<!--python … -->` and `<!--console … -->`: the same, hidden
- `12.5<!--= EXPRESSION -->`: the number is replaced by the value of the expression, with the same number of decimals
- `<!--table EXPRESSION -->`: the table below it is replaced by the value of the expression
- `<!-- not run: REASON -->` before a fence: the fence is not run

Anything else is an error: another comment, a tilde fence, an indented fence that would be run, or a fence without a language
that shows values such as 0.6126.

Times differ between runs. In a `console times` or `output times` fence, numbers under a header of times (`ms`, `s`, `MB`,
`queries/s`) or by the keys 'mean', 'p50' and 'p95', and decimals before `s`, `ms` or `MB`, may differ.
`0.4<!--~ EXPRESSION -->` may differ by a factor of 20.

The numbers of `make demo` come from one saved run, `demo.tar.xz`: pages unpack it and run commands on it (`tools.docs.demo`),
and pictures are drawn from it (`tools.docs.pictures`).
"""
