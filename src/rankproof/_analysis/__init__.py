"""Analyses of evaluation results: an AnalysisInput in, tables and sentences out; nothing here prints."""
