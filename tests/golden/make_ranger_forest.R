# Makes tests/golden/ranger-forest/ with R and its packages ranger and jsonlite, on Debian for example
# r-base-core, r-cran-ranger and r-cran-jsonlite:   Rscript tests/golden/make_ranger_forest.R
# Beside each forest stand rows and what every tree of ranger itself says about them.
suppressMessages(library(ranger))
folder <- "tests/golden/ranger-forest"

# --- the lines of docs/forests_from_elsewhere.md
export_forest <- function(fit, path) {
  exact <- function(x) sprintf("%.17g", x)
  forest <- rapply(unclass(fit$forest), exact, classes = c("numeric", "integer"), how = "replace")
  writeLines(jsonlite::toJSON(forest), path)
}
# ---

set.seed(1)
n <- 160
rows <- data.frame(a = rnorm(n), b = round(rnorm(n), 1), size = factor(sample(c("S", "M", "L", "XL"), n, TRUE)))
sick <- rows$a + (rows$size == "L") - rows$b / 2 + rnorm(n) * 0.6 > 0.3
rows$y <- factor(ifelse(sick, "sick", "healthy"))

new <- data.frame(a = rnorm(60), b = round(rnorm(60), 1), size = factor(sample(levels(rows$size), 60, TRUE)))
new$a[1:3] <- c(Inf, -Inf, 0)
new$b[4:6] <- c(Inf, -Inf, -0.0)

save_case <- function(name, fit, columns) {
  export_forest(fit, file.path(folder, paste0(name, ".json")))
  # Rows that lie exactly on split values: there float64 is told from anything shorter.
  on_splits <- new
  numeric_splits <- unlist(Map(function(v, i, l) v[i == 0 & l > 0],
    fit$forest$split.values, fit$forest$split.varIDs, lapply(fit$forest$child.nodeIDs, `[[`, 1)))
  on_splits$a <- rep_len(numeric_splits, nrow(new))
  both <- rbind(new, on_splits)
  said <- predict(fit, both[, columns], predict.all = TRUE)$predictions
  every <- if (fit$treetype == "Classification") said else said[, 2, ] # the probability of the second level
  answer <- predict(fit, both[, columns])$predictions
  if (is.matrix(answer)) answer <- answer[, 2]
  text <- both[, columns]
  for (column in columns) if (is.numeric(text[[column]])) text[[column]] <- sprintf("%.17g", text[[column]])
  content <- list(rows = unname(as.matrix(text)), every_tree = apply(every, 2, sprintf, fmt = "%.17g"),
                  forest = if (is.factor(answer)) as.character(answer) else sprintf("%.17g", answer))
  writeLines(jsonlite::toJSON(content), file.path(folder, paste0(name, "-predictions.json")))
}

numbers <- rows[, c("a", "b", "y")]
save_case("votes", ranger(y ~ ., numbers, num.trees = 7, max.depth = 4, seed = 2), c("a", "b"))
save_case("shares", ranger(y ~ ., numbers, num.trees = 7, max.depth = 3, probability = TRUE, seed = 3), c("a", "b"))
ordered <- ranger(y ~ ., rows, num.trees = 7, max.depth = 4, respect.unordered.factors = "order", seed = 4)
save_case("ordered-factor", ordered, c("a", "b", "size"))
numbers$y <- as.integer(sick)
save_case("numbered-classes", ranger(y ~ ., numbers, num.trees = 5, max.depth = 3, classification = TRUE, seed = 5), c("a", "b"))

export_forest(ranger(y ~ ., rows, num.trees = 2, max.depth = 3, respect.unordered.factors = "partition", seed = 6),
              file.path(folder, "unordered-factor.json"))
export_forest(ranger(a ~ b, rows, num.trees = 2, max.depth = 2, seed = 7), file.path(folder, "regression.json"))
export_forest(ranger(size ~ a + b, rows, num.trees = 2, max.depth = 2, seed = 8), file.path(folder, "four-classes.json"))
