"""The native merge of rankings."""
