"""What a person at the terminal sees and answers: the screen, the questions, the look of plans and approvals."""
