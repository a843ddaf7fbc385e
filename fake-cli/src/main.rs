//! `fake-claude`: a Claude Code CLI for tests.

fn main() {
    std::process::exit(fake_cli::run_process());
}
