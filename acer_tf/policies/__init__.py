"""Stable Baselines 2's policies by the names that its users import; each is the name of a network."""

MlpPolicy = "MlpPolicy"
MlpLstmPolicy = "MlpLstmPolicy"
MlpLnLstmPolicy = "MlpLnLstmPolicy"
CnnPolicy = "CnnPolicy"
CnnLstmPolicy = "CnnLstmPolicy"
CnnLnLstmPolicy = "CnnLnLstmPolicy"
