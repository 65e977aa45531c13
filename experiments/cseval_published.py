"""What Hengle et al. (2025) print, for `cseval_table1.py` to set beside the recorded columns. No figure of ours.

In the order of `ASPECTS`. Rows of Table 1 with fewer than four aspects (PD-Score, Pro-Con, argument quality, toxicity)
are left out: the text that was at hand does not tell which aspects they are of.
"""

from __future__ import annotations

ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
Row = tuple[float, float, float, float]
AUTO, ZERO_SHOT, G_EVAL = "gpt-4/auto-cseval", "gpt-4/zero-shot", "gpt-4/g-eval"

# Table 1, Spearman's rho and Kendall's tau, by the recorded column (without its aspect). As printed: in the authors'
# files (see FIRST_1000) Mistral's zero-shot figures are those that the table has for its G-Eval, and the reverse.
RHO: dict[str, Row] = {
    "metric/bleu_1_(pred_cs, cs)": (0.002, -0.137, 0.104, 0.010),
    "metric/bleu_2_(pred_cs, cs)": (-0.075, 0.155, -0.231, -0.097),
    "metric/bleu_3_(pred_cs, cs)": (-0.091, 0.160, -0.251, -0.114),
    "metric/bleu_4_(pred_cs, cs)": (-0.091, 0.160, -0.251, -0.114),
    "metric/rouge_1_(pred_cs, cs)": (0.200, -0.167, 0.344, 0.193),
    "metric/rouge_2_(pred_cs, cs)": (0.200, -0.212, 0.359, 0.221),
    "metric/rouge_l_(pred_cs, cs)": (0.202, -0.163, 0.352, 0.199),
    "metric/meteor_score_(pred_cs, cs)": (0.172, -0.205, 0.353, 0.166),
    "metric/bert_score_(pred_cs, cs)": (0.223, -0.075, 0.348, 0.250),
    "llama-3-8b/zero-shot": (0.330, 0.199, 0.328, 0.163),
    "llama-3-8b/auto-cseval": (0.340, 0.171, 0.326, 0.278),
    "mistral-7b/zero-shot": (0.322, 0.278, 0.339, 0.302),
    "mistral-7b/auto-cseval": (0.372, 0.291, 0.349, 0.363),
    ZERO_SHOT: (0.532, 0.349, 0.435, 0.414),
    G_EVAL: (0.626, 0.379, 0.582, 0.524),
    AUTO: (0.687, 0.447, 0.600, 0.567),
}
TAU: dict[str, Row] = {
    "metric/bleu_1_(pred_cs, cs)": (0.000, -0.114, 0.076, 0.008),
    "metric/bleu_2_(pred_cs, cs)": (-0.055, 0.120, -0.176, -0.071),
    "metric/bleu_3_(pred_cs, cs)": (-0.067, 0.123, -0.191, -0.085),
    "metric/bleu_4_(pred_cs, cs)": (-0.067, 0.123, -0.191, -0.085),
    "metric/rouge_1_(pred_cs, cs)": (0.150, -0.130, 0.251, 0.149),
    "metric/rouge_2_(pred_cs, cs)": (0.164, -0.180, 0.283, 0.186),
    "metric/rouge_l_(pred_cs, cs)": (0.151, -0.127, 0.257, 0.154),
    "metric/meteor_score_(pred_cs, cs)": (0.130, -0.160, 0.260, 0.130),
    "metric/bert_score_(pred_cs, cs)": (0.165, -0.058, 0.256, 0.190),
    "llama-3-8b/zero-shot": (0.286, 0.185, 0.279, 0.150),
    "llama-3-8b/auto-cseval": (0.293, 0.159, 0.278, 0.252),
    "mistral-7b/zero-shot": (0.284, 0.254, 0.284, 0.277),
    "mistral-7b/auto-cseval": (0.332, 0.268, 0.293, 0.333),
    ZERO_SHOT: (0.476, 0.328, 0.377, 0.383),
    G_EVAL: (0.572, 0.351, 0.488, 0.464),
    AUTO: (0.637, 0.425, 0.506, 0.504),
}

# Table 5, mean and standard deviation of rho over the 39 trials.
TRIALS: dict[str, tuple[Row, Row]] = {
    "metric/bleu_1_(pred_cs, cs)": ((-0.007, -0.147, 0.115, 0.005), (0.022, 0.043, 0.040, 0.025)),
    "metric/rouge_l_(pred_cs, cs)": ((0.213, -0.167, 0.354, 0.200), (0.037, 0.020, 0.027, 0.027)),
    "metric/meteor_score_(pred_cs, cs)": ((0.178, -0.207, 0.355, 0.169), (0.032, 0.020, 0.025, 0.023)),
    "metric/bert_score_(pred_cs, cs)": ((0.227, -0.077, 0.342, 0.249), (0.027, 0.027, 0.020, 0.014)),
    "metric/toxicity_(pred_cs)": ((-0.019, 0.272, -0.184, -0.107), (0.030, 0.018, 0.037, 0.028)),
    ZERO_SHOT: ((0.529, 0.336, 0.444, 0.422), (0.031, 0.061, 0.025, 0.039)),
    G_EVAL: ((0.629, 0.392, 0.578, 0.522), (0.012, 0.030, 0.031, 0.014)),
    AUTO: ((0.687, 0.461, 0.597, 0.566), (0.010, 0.035, 0.032, 0.014)),
}
# Table 6: Auto-CSEval less the best metric, and less the best other method (G-Eval in every aspect).
DELTAS: dict[str, Row] = {
    "the best metric": (0.415, 0.189, 0.202, 0.317),
    "the best other method": (0.058, 0.069, 0.019, 0.044),
}

# Table 2, NDCG of the unified score. The recorded rankings have zero-shot scores in the place of G-Eval's.
NDCG = {
    "gpt-4o": 0.898,
    "meta-llama-Llama-3-8b-chat-hf": 0.890,
    "mistralai-Mistral-7B-Instruct-v0.3": 0.891,
}

# The authors' repository (AmeyHengle/cs-eval, commit f92c078): statistical_tests/<aspect>_top1000.csv, Spearman on the
# first 1,000 rows of their table. n follows from rho and t there, as it does in <aspect>_complete.csv: 6,525.
ROWS = 6525
FIRST_1000: dict[str, Row] = {
    ZERO_SHOT: (0.581, 0.452, 0.606, 0.380),
    G_EVAL: (0.477, 0.062, 0.473, 0.273),
    AUTO: (0.505, 0.248, 0.482, 0.293),
    "llama-3-8b/auto-cseval": (0.473, 0.014, 0.406, 0.366),
    "mistral-7b/auto-cseval": (0.399, 0.380, 0.390, 0.455),
}
