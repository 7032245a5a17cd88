-- Hermes in CodeCompanion (Neovim): an adapter of the type "acp". Merge it into your own call of
-- setup(), then choose it with :CodeCompanionChat adapter=hermes.
--
-- It is made from one that comes with the plugin, so that it fits the version that is installed, and
-- of that one only the names and the command are other ones. It skips authentication, which is
-- right here too: the keys are those of the Hermes home folder.

require("codecompanion").setup({
  adapters = {
    acp = {
      hermes = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "hermes",
          formatted_name = "Hermes",
          commands = { default = { "hermes-acp" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "hermes" } },
})
