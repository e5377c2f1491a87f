"""Sites: machines that commlens knows how to launch on, their job scripts, and submitting them."""
