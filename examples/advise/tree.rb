# 800,000 small strings in a hash: a heap of 100 MiB.
words = {}
800_000.times { |number| words[number] = "word #{number}" }
puts words.values.sum(&:length)
