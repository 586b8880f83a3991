"""The networks this package ships, known without importing TensorFlow."""

NETWORKS = ("mlp", "cnn", "cnn_small", "impala_cnn", "conv_only")
