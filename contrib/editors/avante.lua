-- Hermes in avante (Neovim): merge it into your own call of setup().

require("avante").setup({
  provider = "hermes",
  acp_providers = {
    hermes = { command = "hermes-acp", args = {}, env = {} },
  },
})
