"""Names of the built-in networks, available without importing TensorFlow."""

NETWORKS = (
    "mlp", "cnn", "cnn_small", "cnn_minatar", "impala_cnn", "conv_only",
    "lstm", "lnlstm", "cnn_lstm", "cnn_lnlstm", "impala_cnn_lstm",
    "MlpPolicy", "MlpLstmPolicy", "MlpLnLstmPolicy", "CnnPolicy", "CnnLstmPolicy", "CnnLnLstmPolicy",
)  # fmt: skip
